// Drives `restitch mcp` by the official TypeScript client and prints what it saw as JSON.
//
// client.mjs SDK_FOLDER CALLS stdio COMMAND ARGUMENTS... | client.mjs SDK_FOLDER CALLS http URL TOKEN
// CALLS is a JSON file: the tools to call and their arguments.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

const [folder, orders, mode, a, ...rest] = process.argv.slice(2)
const load = (name) => import(pathToFileURL(createRequire(folder + "/x.js").resolve("@modelcontextprotocol/sdk/" + name)))
const { Client } = await load("client/index.js")
const { StdioClientTransport } = await load("client/stdio.js")
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js")

const transport =
  mode === "stdio"
    ? new StdioClientTransport({ command: a, args: rest })
    : new StreamableHTTPClientTransport(new URL(a), { requestInit: { headers: { Authorization: "Bearer " + rest[0] } } })
const client = new Client({ name: "proof", version: "1" })
await client.connect(transport)
const out = { server: client.getServerVersion().name }
const { tools } = await client.listTools()
out.tools = tools.map((tool) => tool.name).sort()
out.annotated = tools.every((tool) => tool.annotations)
// The client drops a call's progress handler as soon as it has read the answer, so progress
// in the same chunk may not reach the handler; what is on the wire is counted here.
const steps = []
const receive = transport.onmessage
transport.onmessage = (message, extra) => {
  if (message.method === "notifications/progress") steps.push(message.params.message)
  receive(message, extra)
}
// callTool checks structuredContent against the listed output schema.
out.calls = []
for (const { tool, arguments: args } of JSON.parse(readFileSync(orders, "utf8"))) {
  // Progress is asked for on the first call only.
  const options = out.calls.length ? undefined : { onprogress: () => {} }
  const result = await client.callTool({ name: tool, arguments: args }, undefined, options)
  out.calls.push({ error: !!result.isError, text: result.content[0].text, ok: result.structuredContent.ok, code: result.structuredContent.code })
}
out.progress = steps
console.log(JSON.stringify(out))
await client.close()
