// restitch behind LangChain's tools for the editors of OpenAI and Anthropic:
// node restitch-langchain.mjs TASK

import { ChatAnthropic, tools as anthropic } from '@langchain/anthropic'
import { ChatOpenAI, tools as openai } from '@langchain/openai'
import { createAgent } from 'langchain'
import { Engine } from 'restitch'

/** Anthropic's text editor over the files of an engine. */
export const textEditor = (engine) =>
  anthropic.textEditor_20250728({
    execute: async (command) => (await engine.call('str_replace_based_edit_tool', command)).message,
  })

const headers = { create_file: 'Add', update_file: 'Update', delete_file: 'Delete' }

/** OpenAI's patch tool over the files of an engine. */
export const applyPatch = (engine) =>
  openai.applyPatch({
    execute: async ({ type, path, diff = '' }) => {
      const patch = `*** Begin Patch\n*** ${headers[type]} File: ${path}\n${diff.replace(/\n$/, '')}\n*** End Patch`
      return (await engine.call('apply_patch', { patch })).message
    },
  })

if (import.meta.filename === process.argv[1]) {
  const engine = new Engine('.')
  const agent = process.env.ANTHROPIC_API_KEY
    ? createAgent({
        model: new ChatAnthropic({ model: 'claude-sonnet-4-5', anthropicApiUrl: process.env.ANTHROPIC_BASE_URL }),
        tools: [textEditor(engine)],
      })
    : createAgent({ model: new ChatOpenAI({ model: 'gpt-5.2', useResponsesApi: true }), tools: [applyPatch(engine)] })
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: process.argv[2] }] }, { recursionLimit: 200 })
  console.log(messages.at(-1).text)
}
