// Every case of the repository: the bytes and codes of the Rust core.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import test from 'node:test'

import { FIXTURES, Files, folders, noFolders, packed, recorded, same } from './cases.mjs'

const { Engine, Refused, apply } = await import(process.env.RESTITCH_PACKAGE ?? '../index.mjs')
const command = process.env.RESTITCH_COMMAND ?? join(FIXTURES, '../bindings/node/bin/restitch.cjs')

const cases = [...packed()]

test(`${cases.length} packed cases, as bytes`, () => {
  assert.ok(cases.length > 1000)
  for (const { id, path, before, old, new: new_, options, right, refuse, knownFailure } of cases) {
    const result = apply(before, old, new_, { ...options, path })
    if (result instanceof Refused) {
      assert.ok(right.length ? knownFailure : refuse.includes(result.code), `${id}: ${result.message}`)
    } else {
      assert.ok(right.some((bytes) => Buffer.compare(bytes, result.text) === 0), id)
    }
  }
})

test(
  `${cases.length} packed cases, as text, beside the command`,
  () => {
    const lines = cases.map(({ path, before, old, new: new_, options }, id) => {
      const args = { text: before.toString(), path, old_str: old, new_str: new_, near_line: options.nearLine }
      if (options.replaceAll) args.replace_all = true
      if (options.expected) args.expected_replacements = options.expected
      return JSON.stringify({ id, arguments: args })
    })
    for (const syntax of ['veto', 'off']) {
      const run = spawnSync(command, ['batch', '--syntax', syntax], { input: lines.join('\n'), maxBuffer: 1 << 30 })
      const replies = run.stdout.toString().trim().split('\n').map((line) => JSON.parse(line))
      assert.equal(replies.length, cases.length)
      cases.forEach(({ id, path, before, old, new: new_, options }, at) => {
        const result = apply(before.toString(), old, new_, { ...options, path, syntax })
        const { code, report } = replies[at]
        assert.deepEqual([result.code ?? null, result.ok ? result.text : undefined], [code, report.text], id)
      })
    }
  },
)

if (noFolders) test('the cases in folders', { skip: noFolders })

for (const given of folders()) {
  test(`folder ${given.id}`, async () => {
    const store = new Files(given.before)
    const model = given.replies === undefined ? undefined : recorded(given.replies)
    const reply = await new Engine({ store, model }).call(given.tool, given.args)
    if (reply.ok) {
      assert.ok(given.after.some((after) => same(after, store.files)), reply.message)
      assert.ok([undefined, reply.report.rung].includes(given.rung))
    } else {
      assert.ok(same(given.before, store.files), 'a refusal has written')
      assert.ok(given.refuse.includes(reply.code) || given.knownFailure, reply.message)
    }
    if (given.modelCalls !== undefined) assert.equal(model?.asked ?? 0, given.modelCalls)
  })
}
