// Each example, as a process of its own, against a model that plays a script.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const here = dirname(fileURLToPath(import.meta.url))
const examples = join(here, '../examples')
const server = join(here, '../../../tests/it/agents/clients/model.mjs')
const needs = { 'ai_sdk.mjs': 'ai', 'mastra.mjs': '@mastra/core' }

const before = 'func serve() {\n\tfor {\n\t\tif next() {\n\t\t\treturn\n\t\t}\n\t}\n}\n'
const after = 'func serve() {\n\tfor {\n\t\tif next() {\n\t\t\tlog()\n\t\t\treturn\n\t\t}\n\t}\n}\n'
// One call that names something that is not there, then one that is a tab too shallow.
const script = [
  { tool: 'edit_file', arguments: { path: 'serve.go', old_str: 'if last() {', new_str: 'if first() {' } },
  { tool: 'edit_file', arguments: { path: 'serve.go', old_str: 'if next() {\n\treturn\n}', new_str: 'if next() {\n\tlog()\n\treturn\n}' } },
  { text: 'It is done.' },
]

test('every example is run', () => assert.deepEqual(readdirSync(examples).sort(), Object.keys(needs)))

for (const [example, needed] of Object.entries(needs)) {
  const missing = !existsSync(join(here, '../node_modules', needed))
  test(example, { skip: missing && `SKIPPED: ${needed} is not installed (npm install)` }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'restitch-'))
    const [work, asked] = [join(folder, 'work'), join(folder, 'asked')]
    for (const made of [work, asked]) mkdirSync(made)
    writeFileSync(join(work, 'serve.go'), before)
    writeFileSync(join(folder, 'script.json'), JSON.stringify(script))
    const model = spawn(process.execPath, [server, join(folder, 'script.json'), asked])
    try {
      const port = String(await new Promise((done) => model.stdout.once('data', done))).trim()
      const env = {
        ...process.env,
        OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
        OPENAI_API_KEY: 'none',
        MASTRA_TELEMETRY_DISABLED: '1',
        RESTITCH_STATE_DIR: join(folder, 'state'),
      }
      const task = [join(examples, example), 'Log before the return.']
      const { stdout } = await promisify(execFile)(process.execPath, task, { cwd: work, env, timeout: 120_000 })
      assert.match(stdout, /It is done\./)
    } finally {
      model.kill()
    }
    assert.equal(readFileSync(join(work, 'serve.go'), 'utf8'), after)
    const heard = readdirSync(asked).map((file) => readFileSync(join(asked, file), 'utf8')).join('')
    assert.match(heard, /EDIT_NO_OCCURRENCE_FOUND/, 'the model was told why the first call was refused')
  })
}
