// Checked by the compiler, never run: what programs may rely on.

import { generateText } from 'ai'
import { Agent } from '@mastra/core/agent'
import { Applied, Engine, Refused, apply, applyMany, tools } from 'restitch'
import type { Edited, Model, Store } from 'restitch'

const words: Applied | Refused = apply('a', 'a', 'b', { expected: 1, path: 'a.ts' })
const bytes: Applied<Buffer> | Refused = apply(new Uint8Array(), 'a', 'b')
if (words.ok) words.text.toUpperCase()
else words.nearest[0]?.firstDifference?.found.trim()
const unwrapped: string = words.unwrap().text
const after: Buffer = bytes.unwrap().text
applyMany('a', [{ old: 'a', new: 'b', nearLine: 1 }])

// @ts-expect-error: an edit has two texts
applyMany('a', [{ old: 'a' }])
// @ts-expect-error: an engine has a root or a store
new Engine({})

const store: Store = { load: async () => null, storeIf: async () => true }
const model: Model = async (question) => JSON.stringify(question.schema)
const engine = new Engine({ store, model })
const edited: Edited | Refused = await engine.edit('a', '', 'text', { dryRun: true })

declare const languageModel: Parameters<typeof generateText>[0]['model']
void (() => generateText({ model: languageModel, prompt: '', tools: tools(engine) }))
void (() => new Agent({ id: 'a', name: 'a', instructions: '', model: 'openai/gpt-5.2', tools: tools({ root: '.' }) }))
void [unwrapped, after, edited]
