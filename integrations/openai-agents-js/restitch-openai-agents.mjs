// restitch behind the patch tool of the OpenAI Agents SDK: node restitch-openai-agents.mjs TASK

import { Agent, applyPatchTool, run } from '@openai/agents'
import { Engine } from 'restitch'

/** An `Editor` over the files of an engine. */
export function editor(engine) {
  const applied = (header) => async ({ path, diff = '', moveTo }) => {
    const move = moveTo ? `*** Move to: ${moveTo}\n` : ''
    const patch = `*** Begin Patch\n*** ${header} File: ${path}\n${move}${diff.replace(/\n$/, '')}\n*** End Patch`
    const { ok, message } = await engine.call('apply_patch', { patch })
    return { status: ok ? 'completed' : 'failed', output: message }
  }
  return { createFile: applied('Add'), updateFile: applied('Update'), deleteFile: applied('Delete') }
}

if (import.meta.filename === process.argv[1]) {
  const tools = [applyPatchTool({ editor: editor(new Engine('.')) })]
  const agent = new Agent({ name: 'editor', instructions: 'Edit the files.', model: 'gpt-5.2', tools })
  console.log((await run(agent, process.argv[2], { maxTurns: 100 })).finalOutput)
}
