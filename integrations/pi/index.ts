// restitch as pi's own `edit`: the same arguments, so the model and the display change nothing.

import { createEditToolDefinition, type ExtensionAPI } from "@earendil-works/pi-coding-agent"
import { Engine } from "restitch"

const engines = new Map<string, Engine>()

/** One engine, and so one session, for each folder. */
function engineOf(folder: string): Engine {
  const engine = engines.get(folder) ?? new Engine(folder)
  engines.set(folder, engine)
  return engine
}

export default function (pi: ExtensionAPI) {
  const own = createEditToolDefinition(process.cwd())
  pi.registerTool({
    ...own,
    async execute(_id, { path, edits }, _signal, _onUpdate, context) {
      const calls = edits.map(({ oldText, newText }) => ({ path, old_str: oldText, new_str: newText }))
      const { ok, message, report } = await engineOf(context.cwd).call("multi_edit", { edits: calls })
      if (!ok) throw new Error(message)
      const [{ diff, spans }] = report.files
      const details = { diff, patch: diff, firstChangedLine: spans[0]?.after.start_line }
      return { content: [{ type: "text", text: message }], details }
    },
  })
}
