// restitch's tools in the Vercel AI SDK: node ai_sdk.mjs TASK

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount } from 'ai'
import { tools } from 'restitch'

const provider = createOpenAICompatible({ name: 'openai', baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY })
const { text } = await generateText({
  model: provider('gpt-5.2'),
  prompt: process.argv[2],
  tools: tools({ root: '.' }),
  stopWhen: isStepCount(20),
})
console.log(text)
