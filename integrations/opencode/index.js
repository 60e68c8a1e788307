// restitch as opencode's own `edit`, with the question that opencode asks before an edit.

import { tool } from "@opencode-ai/plugin"
import { Engine } from "restitch"

const { schema } = tool

/** The tool, over the files of a folder. */
export function edit(folder) {
  const engine = new Engine(folder)
  return tool({
    description:
      "Replaces oldString with newString in a file. oldString must occur once unless replaceAll is set. An empty oldString creates the file.",
    args: {
      filePath: schema.string().describe("The file, absolute or relative to the project."),
      oldString: schema.string().describe("The text to replace."),
      newString: schema.string().describe("The text to put in its place."),
      replaceAll: schema.boolean().optional().describe("Replace every occurrence."),
    },
    async execute({ filePath, oldString, newString, replaceAll }, context) {
      const change = (dryRun) => engine.edit(filePath, oldString, newString, { replaceAll, dryRun })
      const planned = await change(true)
      if (!planned.ok) throw new Error(planned.message)
      const { path, diff } = planned
      await context.ask({ permission: "edit", patterns: [path], always: ["*"], metadata: { filepath: path, diff } })
      const done = await change(false)
      if (!done.ok) throw new Error(done.message)
      return { title: path, output: done.message, metadata: { diff: done.diff } }
    },
  })
}

export const Restitch = async ({ directory, worktree }) => ({
  // Outside of git the worktree is `/`.
  tool: { edit: edit(worktree === "/" ? directory : worktree) },
})
