// restitch's tools in the Vercel AI SDK: node restitch-ai-sdk.mjs TASK

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText } from 'ai'
import { tools } from 'restitch'

const provider = createOpenAICompatible({ name: 'openai', baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY })
const { text } = await generateText({
  model: provider('gpt-5.2'),
  prompt: process.argv[2],
  tools: tools({ root: '.' }),
  stopWhen: ({ steps }) => steps.length >= 100,
})
console.log(text)
