// restitch for opencode: edits that would miss are corrected before they run.
// Written by `restitch init opencode --write` to .opencode/plugin/restitch.js
import { spawnSync } from "node:child_process"

const ask = (event, cwd, tool, args, response) => {
  const input = JSON.stringify({ cwd, tool_name: tool, tool_input: args, tool_response: response })
  const run = spawnSync("restitch", ["hook", "opencode", event], { input, encoding: "utf8", timeout: 30000 })
  if (run.status !== 0 || !run.stdout) return undefined
  try {
    return JSON.parse(run.stdout)
  } catch {
    return undefined
  }
}

export const Restitch = async ({ directory }) => ({
  "tool.execute.before": async ({ tool }, output) => {
    if (tool !== "edit" && tool !== "apply_patch") return
    const answer = ask("tool.execute.before", directory, tool, output.args)
    if (answer?.deny) throw new Error(answer.deny)
    if (answer?.args) Object.assign(output.args, answer.args)
  },
})
