// Every case of the repository that the pure function can take: the bytes and codes of the core.
// The module has no parser, so it is held beside a command that parses nothing either.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'

import { FIXTURES, packed } from '../../node/test/cases.mjs'

const { Refused, apply } = await import(process.env.RESTITCH_PACKAGE ?? '../package/node.js')
const command = process.env.RESTITCH_COMMAND ?? join(FIXTURES, '../target/debug/restitch')
const there = existsSync(command)
const cases = [...packed()]

/** What the command makes of the cases, as texts. */
function batch(...flags) {
  const lines = cases.map(({ path, before, old, new: new_, options }, id) => {
    const args = { text: before.toString(), path, old_str: old, new_str: new_, near_line: options.nearLine }
    if (options.replaceAll) args.replace_all = true
    if (options.expected) args.expected_replacements = options.expected
    return JSON.stringify({ id, arguments: args })
  })
  const run = spawnSync(command, ['batch', ...flags], { input: lines.join('\n'), maxBuffer: 1 << 30 })
  const replies = run.stdout.toString().trim().split('\n').map((line) => JSON.parse(line))
  assert.equal(replies.length, cases.length)
  return replies.map(({ code, report }) => [code, report.text])
}

test(
  `${cases.length} packed cases, as text and as bytes, beside the command`,
  { skip: !there && `SKIPPED: there is no command at ${command}; RESTITCH_COMMAND= names one` },
  (t) => {
    assert.ok(cases.length > 1000)
    const same = batch('--syntax', 'off')
    const parsed = batch()
    let byParser = 0
    cases.forEach(({ id, path, before, old, new: new_, options, right, refuse, knownFailure }, at) => {
      const ofText = apply(before.toString(), old, new_, { ...options, path })
      assert.deepEqual([ofText.code ?? null, ofText.ok ? ofText.text : undefined], same[at], id)

      const ofBytes = apply(before, old, new_, { ...options, path })
      assert.equal(ofBytes.code, ofText.code, id)
      if (ofBytes.ok) assert.equal(Buffer.from(ofBytes.text).toString(), ofText.text, id)
      // What is right is known for the whole product, parser and all.
      if (same[at][0] !== parsed[at][0] || same[at][1] !== parsed[at][1]) byParser += 1
      else if (ofBytes instanceof Refused) {
        assert.ok(right.length ? knownFailure : refuse.includes(ofBytes.code), `${id}: ${ofBytes.message}`)
      } else {
        assert.ok(right.some((bytes) => Buffer.compare(bytes, ofBytes.text) === 0), id)
      }
    })
    t.diagnostic(`${byParser} of ${cases.length} come out otherwise with a parser`)
  },
)
