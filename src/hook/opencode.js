// restitch for opencode: edits that would miss are corrected before they run, and those that
// restitch refuses do not run. Written by `restitch init opencode --write`.
import { spawnSync } from "node:child_process"

const ask = (event, cwd, tool, args) => {
  const input = JSON.stringify({ cwd, tool_name: tool, tool_input: args })
  const run = spawnSync("restitch", ["hook", "opencode", event], { input, encoding: "utf8", timeout: 30000 })
  if (run.status !== 0 || !run.stdout) return undefined
  try {
    return JSON.parse(run.stdout)
  } catch {
    return undefined
  }
}

export const Restitch = async ({ directory }) => {
  const notes = new Map()
  return {
    "tool.execute.before": async ({ tool, callID }, output) => {
      if (tool !== "edit" && tool !== "apply_patch") return
      const answer = ask("tool.execute.before", directory, tool, output.args)
      if (answer?.deny) throw new Error(answer.deny)
      if (!answer?.args) return
      Object.assign(output.args, answer.args)
      notes.set(callID, answer.note)
    },
    "tool.execute.after": async ({ callID }, output) => {
      const note = notes.get(callID)
      notes.delete(callID)
      if (note && typeof output?.output === "string") output.output += "\n" + note
    },
  }
}
