// A model that plays a script, in the words of four interfaces: Anthropic messages, OpenAI
// responses, OpenAI chat completions, Gemini. For real clients that think they talk to one.
//
// model.mjs SCRIPT FOLDER
// SCRIPT is a JSON list of turns: {"tool": NAME, "arguments": {...}}, {"search": "..."} for tools,
// {"patch": {...}} for OpenAI's own patch tool, {"text": "..."}. A tool "restitch:NAME" is the
// declared tool of restitch that ends in NAME, under whatever name the client declares it. Each
// request is kept in FOLDER as N-WIRE.json. The port is printed.
import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"

const [script, folder] = process.argv.slice(2)
const turns = JSON.parse(readFileSync(script, "utf8"))
let kept = 0

const declared = {
  anthropic: (body) => (body.tools ?? []).map((tool) => tool.name),
  chat: (body) => (body.tools ?? []).map((tool) => tool.function?.name),
  // Tools that the model has searched for stand in the answer to that.
  responses: (body) =>
    [...(body.tools ?? []), ...items(body).flatMap((item) => (item.type === "tool_search_output" ? item.tools : []))].flatMap((tool) =>
      tool.type === "namespace" ? tool.tools.map((one) => ({ namespace: tool.name, name: one.name })) : [tool.name],
    ),
  gemini: (body) => (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map((tool) => tool.name),
}

// How many answers of tools the request holds: the next turn's number.
const answered = {
  anthropic: (body) => count(body.messages, (message) => blocks(message.content).filter((block) => block.type === "tool_result").length),
  // smolagents sends what a tool answered as the user's words.
  chat: (body) => count(body.messages, (message) => (message.role === "tool" || /"Observation:/.test(JSON.stringify(message.content)) ? 1 : 0)),
  // OpenHands answers a call in several items.
  responses: (body) => new Set(items(body).flatMap((item) => (/_output$/.test(item.type ?? "") ? [item.call_id] : []))).size,
  gemini: (body) => count(body.contents, (content) => (content.parts ?? []).filter((part) => part.functionResponse).length),
}
const items = (body) => (Array.isArray(body.input) ? body.input : [])
const blocks = (content) => (Array.isArray(content) ? content : [])
const count = (list, of) => (list ?? []).reduce((sum, item) => sum + of(item), 0)

const resolve = (name, names) => {
  const wanted = name.startsWith("restitch:") ? name.slice(9) : undefined
  const plain = (one) => (one?.namespace ? one.namespace + "." + one.name : String(one))
  const full = names.find((one) => (wanted ? new RegExp("restitch[^a-z]+" + wanted + "$").test(plain(one)) : plain(one) === name))
  const bare = names.find((one) => plain(one) === wanted)
  return full ?? bare ?? (wanted ? "mcp__restitch__" + wanted : name)
}

const next = (wire, body) => {
  const names = declared[wire](body)
  const turn = names.length ? turns[answered[wire](body)] : { text: "A title" }
  if (!turn) return { text: "The script is over." }
  return turn.tool ? { ...turn, tool: resolve(turn.tool, names) } : turn
}

const sse = (response, events) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (const event of events) response.write((event.type ? "event: " + event.type + "\n" : "") + "data: " + JSON.stringify(event) + "\n\n")
}

const id = () => "call_" + Math.random().toString(36).slice(2, 12)

const play = {
  anthropic(body, turn, response) {
    const block = turn.tool ? { type: "tool_use", id: "tool" + id(), name: turn.tool, input: {} } : { type: "text", text: "" }
    const delta = turn.tool ? { type: "input_json_delta", partial_json: JSON.stringify(turn.arguments) } : { type: "text_delta", text: turn.text }
    const reason = turn.tool ? "tool_use" : "end_turn"
    const usage = { input_tokens: 10, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    const message = { id: "msg_" + id(), type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, stop_sequence: null, usage }
    if (!body.stream) {
      const content = [turn.tool ? { ...block, input: turn.arguments } : { type: "text", text: turn.text }]
      response.writeHead(200, { "content-type": "application/json" })
      return response.end(JSON.stringify({ ...message, content, stop_reason: reason }))
    }
    sse(response, [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 10 } },
      { type: "message_stop" },
    ])
    response.end()
  },
  responses(body, turn, response) {
    const named = typeof turn.tool === "string" ? { name: turn.tool } : turn.tool
    const item = turn.search
      ? { type: "tool_search_call", id: "ts_" + id(), call_id: id(), status: "completed", execution: "client", arguments: { query: turn.search, limit: 8 } }
      : turn.patch
      ? { type: "apply_patch_call", id: "apc_" + id(), call_id: id(), status: "completed", operation: turn.patch }
      : !turn.tool
      ? { type: "message", id: "msg_" + id(), role: "assistant", status: "completed", content: [{ type: "output_text", text: turn.text, annotations: [] }] }
      : turn.input !== undefined
        ? { type: "custom_tool_call", id: "ctc_" + id(), call_id: id(), status: "completed", ...named, input: turn.input }
        : { type: "function_call", id: "fc_" + id(), call_id: id(), status: "completed", ...named, arguments: JSON.stringify(turn.arguments) }
    const done = {
      id: "resp_" + id(), object: "response", created_at: 1, status: "completed", model: body.model, output: [item], parallel_tool_calls: false, tool_choice: "auto", tools: [],
      usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: 10, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 20 },
    }
    if (!body.stream) {
      response.writeHead(200, { "content-type": "application/json" })
      return response.end(JSON.stringify(done))
    }
    let sequence_number = 0
    const event = (type, more) => ({ type, sequence_number: sequence_number++, ...more })
    sse(response, [
      event("response.created", { response: { ...done, status: "in_progress", output: [] } }),
      event("response.output_item.added", { output_index: 0, item }),
      event("response.output_item.done", { output_index: 0, item }),
      event("response.completed", { response: done }),
    ])
    response.end()
  },
  chat(body, turn, response) {
    const call = turn.tool && { index: 0, id: id(), type: "function", function: { name: turn.tool, arguments: JSON.stringify(turn.arguments) } }
    const said = turn.tool ? { role: "assistant", content: null, tool_calls: [call] } : { role: "assistant", content: turn.text }
    const base = { id: "chat_" + id(), created: 1, model: body.model }
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
    const finish_reason = turn.tool ? "tool_calls" : "stop"
    if (!body.stream) {
      response.writeHead(200, { "content-type": "application/json" })
      return response.end(JSON.stringify({ ...base, object: "chat.completion", choices: [{ index: 0, message: said, finish_reason }], usage }))
    }
    sse(response, [
      { ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta: said, finish_reason: null }] },
      { ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason }], usage },
    ])
    response.end("data: [DONE]\n\n")
  },
  gemini(body, turn, response, url) {
    const part = turn.tool ? { functionCall: { name: turn.tool, args: turn.arguments } } : { text: turn.text }
    const answer = {
      candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
      modelVersion: "scripted",
    }
    if (!url.includes("stream")) {
      response.writeHead(200, { "content-type": "application/json" })
      return response.end(JSON.stringify(answer))
    }
    sse(response, [answer])
    response.end()
  },
}

const wireOf = (url) =>
  /\/messages(\?|$)/.test(url) ? "anthropic" : /\/responses(\?|$)/.test(url) ? "responses" : /chat\/completions/.test(url) ? "chat" : /enerateContent/.test(url) ? "gemini" : undefined

const server = createServer((request, response) => {
  let text = ""
  request.on("data", (piece) => (text += piece))
  request.on("end", () => {
    const wire = request.method === "POST" ? wireOf(request.url) : undefined
    if (!wire) {
      const models = { object: "list", data: [{ id: "scripted", object: "model", created: 1, owned_by: "x", display_name: "scripted" }] }
      const known = /\/models/.test(request.url)
      response.writeHead(known ? 200 : 404, { "content-type": "application/json" })
      return response.end(JSON.stringify(known ? models : { error: { message: "not here: " + request.url } }))
    }
    const body = JSON.parse(text)
    const turn = next(wire, body)
    writeFileSync(join(folder, String(kept++).padStart(3, "0") + "-" + wire + ".json"), JSON.stringify(body, null, 1))
    play[wire](body, turn, response, request.url)
  })
})
server.listen(0, "127.0.0.1", () => console.log(server.address().port))
