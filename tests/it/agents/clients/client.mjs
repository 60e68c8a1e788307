// Drives `restitch mcp` by the official TypeScript client and prints what it saw as JSON.
//
// client.mjs SDK_FOLDER stdio COMMAND ROOT | client.mjs SDK_FOLDER http URL TOKEN
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

const [folder, mode, a, b] = process.argv.slice(2)
const load = (name) => import(pathToFileURL(createRequire(folder + "/x.js").resolve("@modelcontextprotocol/sdk/" + name)))
const { Client } = await load("client/index.js")
const { StdioClientTransport } = await load("client/stdio.js")
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js")

const transport =
  mode === "stdio"
    ? new StdioClientTransport({ command: a, args: ["mcp", "--root", b] })
    : new StreamableHTTPClientTransport(new URL(a), { requestInit: { headers: { Authorization: "Bearer " + b } } })
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
const call = async (name, args, options) => {
  const result = await client.callTool({ name, arguments: args }, undefined, options)
  return { error: !!result.isError, text: result.content[0].text, ok: result.structuredContent.ok, code: result.structuredContent.code }
}
out.calls = {
  edit: await call("edit", { file_path: "a.txt", old_string: "two", new_string: "zwei" }, { onprogress: () => {} }),
  absent: await call("edit", { file_path: "a.txt", old_string: "nowhere at all", new_string: "x" }),
  malformed: await call("edit_file", { path: "a.txt", old_strr: "x" }),
  unknown: await call("no_such_tool", {}),
  patch: await call("apply_patch", { patch: "*** Begin Patch\n*** Update File: a.txt\n-three\n+drei\n*** End Patch" }),
  read: await call("read_file", { path: "a.txt" }),
  lines: await call("edit_lines", { path: "a.txt", start_line: 1, end_line: 1, new_content: "eins" }),
  undo: await call("undo", {}),
  outside: await call("edit_file", { path: "../x", old_str: "a", new_str: "b" }),
}
out.progress = steps
console.log(JSON.stringify(out))
await client.close()
