// restitch's tools in Mastra: node mastra.mjs TASK

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { tools } from 'restitch'

const provider = createOpenAICompatible({ name: 'openai', baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY })
const agent = new Agent({
  id: 'editor',
  name: 'editor',
  instructions: 'Edit the files.',
  model: provider('gpt-5.2'),
  tools: tools({ root: '.' }),
})
const { text } = await agent.generate(process.argv[2], { maxSteps: 20 })
console.log(text)
