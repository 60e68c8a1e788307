// readme.mjs PAGE…: runs each JavaScript example of the pages in this folder, where `restitch` or
// `restitch-wasm` is installed, and `ai` and `@mastra/core` too if an example needs them. The model plays a script.

import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const here = dirname(fileURLToPath(import.meta.url))
const server = join(here, '../tests/it/agents/clients/model.mjs')
const file = 'function area(w, h) {\n  return w * h;\n}\n'
const script = [
  { tool: 'edit_file', arguments: { path: 'area.js', old_str: 'return w*h;', new_str: 'return Math.abs(w*h);' } },
  { text: 'It is done.' },
]
// What the reader of a page has already: the text of a file, the bytes of a module, a model and a task.
const given = `
import { Agent } from '@mastra/core/agent'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount } from 'ai'
const model = createOpenAICompatible({ name: 'scripted', baseURL: process.env.OPENAI_BASE_URL, apiKey: 'none' })('scripted')
Object.assign(globalThis, { Agent, generateText, isStepCount, model, prompt: 'Edit area.js.', instructions: 'Edit files.' })
`

let ran = 0
for (const page of process.argv.slice(2)) {
  for (const [, block] of readFileSync(page, 'utf8').matchAll(/```js\n([^]*?)```/g)) {
    const folder = mkdtempSync('example-')
    const asked = join(folder, 'asked')
    mkdirSync(asked)
    writeFileSync(join(folder, 'area.js'), file)
    writeFileSync(join(folder, 'script.json'), JSON.stringify(script))
    writeFileSync(join(folder, 'example.mjs'), block)
    const uses = block.includes('generateText')
    const module = join(process.cwd(), 'node_modules/restitch-wasm/restitch.wasm')
    const bytes = existsSync(module) ? `import { readFileSync } from 'node:fs'\nglobalThis.bytes = readFileSync(${JSON.stringify(module)})\n` : ''
    writeFileSync(join(folder, 'given.mjs'), `globalThis.file = ${JSON.stringify(file)}\n${bytes}${uses ? given : ''}`)
    const model = spawn(process.execPath, [server, join(folder, 'script.json'), asked])
    try {
      const port = String(await new Promise((done) => model.stdout.once('data', done))).trim()
      const env = {
        ...process.env,
        OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
        MASTRA_TELEMETRY_DISABLED: '1',
        RESTITCH_STATE_DIR: join(process.cwd(), folder, 'state'),
      }
      const task = ['--import', pathToFileURL(join(folder, 'given.mjs')).href, 'example.mjs']
      const { stdout } = await promisify(execFile)(process.execPath, task, { cwd: folder, env, timeout: 120_000 })
      const shown = uses ? readFileSync(join(folder, 'area.js'), 'utf8') : stdout
      if (!shown.includes('Math.abs(w * h)')) throw new Error(`${page}:\n${block}\ncame to\n${shown}`)
    } finally {
      model.kill()
    }
    ran++
  }
}
if (!ran) throw new Error('there is no example')
console.log(`ran: ${ran} JavaScript examples`)
