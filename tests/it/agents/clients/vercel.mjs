// Runs the Vercel AI SDK with restitch's tools against a scripted model.
//
// vercel.mjs NODE_FOLDER PORT COMMAND ARGUMENTS...
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

const [folder, port, command, ...args] = process.argv.slice(2)
const load = (name) => import(pathToFileURL(createRequire(folder + "/x.js").resolve(name)))
const { generateText, stepCountIs } = await load("ai")
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible")
const { createMCPClient } = await load("@ai-sdk/mcp")
const { Experimental_StdioMCPTransport } = await load("@ai-sdk/mcp/mcp-stdio")

const client = await createMCPClient({ transport: new Experimental_StdioMCPTransport({ command, args }) })
const provider = createOpenAICompatible({ name: "scripted", baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "none" })
const { text } = await generateText({ model: provider("scripted"), tools: await client.tools(), stopWhen: stepCountIs(100), prompt: "edit" })
console.log(text)
await client.close()
