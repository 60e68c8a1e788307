// The interface as programs use it.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'

import { Files } from './cases.mjs'
import { GO, check } from './pure.mjs'

const restitch = await import(process.env.RESTITCH_PACKAGE ?? '../index.mjs')
const { Edited, Engine, Refused, apply, tools } = restitch

check(restitch)

test('an engine edits, reads and undoes', async () => {
  const root = mkdtempSync(join(tmpdir(), 'restitch-'))
  const state = join(mkdtempSync(join(tmpdir(), 'restitch-')), 'state')
  writeFileSync(join(root, 'serve.go'), GO)
  const engine = new Engine({ root, state })
  const rehearsed = await engine.edit('serve.go', 'for {', 'for range 3 {', { dryRun: true })
  assert.equal(rehearsed.unwrap().durability, 'dry_run')
  assert.equal(readFileSync(join(root, 'serve.go'), 'utf8'), GO)
  const edited = await engine.edit('serve.go', 'for {', 'for range 3 {')
  assert.ok(edited instanceof Edited)
  assert.equal((await engine.read('serve.go', { offset: 2, limit: 1 })).unwrap().text, '\tfor range 3 {')
  assert.equal((await engine.undo()).unwrap().revision, edited.revision)
  assert.equal(readFileSync(join(root, 'serve.go'), 'utf8'), GO)
  assert.equal((await engine.undo()).ok, false)
  assert.equal((await engine.read('absent.go')).code, 'EDIT_FILE_NOT_FOUND')
})

test('syntax errors are told, or not looked for', async () => {
  const [text, old, new_] = ['fn a() {}\n', '{}', '{']
  const warnings = (syntax) => apply(text, old, new_, { path: 'a.rs', syntax }).unwrap().warnings.join()
  assert.match(warnings(), /new syntax error/)
  assert.match(warnings('warn'), /new syntax error/)
  assert.equal(warnings('off'), '')
  assert.throws(() => warnings('no'), /there is no syntax mode `no`; use one of: off, warn, veto/)
  for (const [syntax, told] of [['veto', true], ['warn', true], ['off', false]]) {
    const engine = new Engine({ store: new Files([['a.rs', Buffer.from(text)]]), syntax })
    const edited = (await engine.edit('a.rs', old, new_)).unwrap()
    assert.equal(/new syntax error/.test(edited.warnings.join()), told, syntax)
  }
  assert.throws(() => new Engine({ root: '.', syntax: 'no' }), /there is no syntax mode/)
})

test('tools are declared and called', async () => {
  const engine = new Engine({ store: new Files([['a.txt', Buffer.from('one\n')]]) })
  for (const format of ['openai', 'openai-responses', 'anthropic', 'gemini', 'mcp']) {
    assert.ok(engine.tools(format).length > 0)
  }
  assert.throws(() => engine.tools('yaml'), /there is no format/)
  const reply = await engine.call('Edit', { file_path: 'a.txt', old_string: 'one', new_string: 'two' })
  assert.ok(reply.ok, reply.message)
  assert.equal((await engine.call('edit_file', '{no json')).code, 'EDIT_INVALID_ARGUMENTS')
  assert.equal((await engine.call('search', { keyword: 'x' })).code, 'EDIT_BLOCKED')
})

test('a store undoes, meets other writers, and may fail', async () => {
  const store = new Files([['a.txt', Buffer.from('one\ntwo\n')], ['b.txt', Buffer.from('three\n')]])
  const engine = new Engine({ store })
  const original = store.storeIf.bind(store)
  let raced = false
  store.storeIf = async (path, bytes, version) => {
    if (!raced) {
      raced = true
      assert.ok(original('a.txt', Buffer.from('zero\none\ntwo\n'), '1'))
    }
    return original(path, bytes, version)
  }
  assert.ok((await engine.edit('a.txt', 'two', '2')).ok)
  assert.equal(String(store.files.get('a.txt')), 'zero\none\n2\n')
  assert.ok((await engine.undo()).ok)
  store.storeIf = (path, bytes, version) => {
    if (path === 'b.txt') throw new Error('disk on fire')
    return original(path, bytes, version)
  }
  const edits = [
    { path: 'a.txt', old_str: 'one', new_str: '1' },
    { path: 'b.txt', old_str: 'three', new_str: '3' },
  ]
  const reply = await engine.call('multi_edit', { edits })
  assert.equal(reply.code, 'EDIT_FILE_WRITE_ERROR')
  assert.match(reply.message, /disk on fire/)
  assert.equal(String(store.files.get('a.txt')), 'zero\none\ntwo\n', 'all or nothing')
})

test('a model of the caller is asked', async () => {
  const store = new Files([['a.py', Buffer.from('def total():\n  total = quantity * price\n  return total\n')]])
  const asked = []
  const model = async (question) => {
    asked.push(question)
    return JSON.stringify({ corrected_target_snippet: '  total = quantity * price' })
  }
  await new Engine({ store, model }).edit('a.py', '  amount = count * price', '  amount = count * price * 2')
  assert.equal(asked[0].schemaName, 'corrected_old_str')
  assert.ok(asked[0].timeout > 30 && asked[0].schema.type === 'object')
  const down = async () => {
    throw new Error('no credit left')
  }
  const refused = await new Engine({ store, model: down }).edit('a.py', '  amount = count * price', '  x = 1')
  assert.match(refused.attempts[0].detail, /no credit left/)
})

test('tools for the ai SDK and Mastra', async () => {
  const root = mkdtempSync(join(tmpdir(), 'restitch-'))
  writeFileSync(join(root, 'a.txt'), 'one\n')
  const offered = tools({ root, state: join(root, '.state'), tools: ['edit_file', 'read_file'] })
  assert.deepEqual(Object.keys(offered), ['edit_file', 'read_file'])
  assert.match(await offered.edit_file.execute({ path: 'a.txt', old_str: 'one', new_str: 'two' }), /^Edited a\.txt/)
  assert.match(await offered.edit_file.execute({ path: 'a.txt', old_str: 'one', new_str: 'two' }), /^EDIT_/)
})

test('CommonJS is the same', () => {
  const require = createRequire(import.meta.url)
  const restitch = require(process.env.RESTITCH_PACKAGE ?? '../index.cjs')
  assert.equal(restitch.apply('a\n', 'a', 'b').unwrap().text, 'b\n')
  assert.equal(restitch.apply, apply)
})

test('a process that used an engine ends', () => {
  const script = `
    const { Engine } = require(${JSON.stringify(process.env.RESTITCH_PACKAGE ?? join(import.meta.dirname, '../index.cjs'))})
    const store = { load: async () => null, storeIf: async () => true }
    new Engine({ store }).edit('a', '', 'text').then((done) => console.log(done.ok))
  `
  const run = spawnSync(process.execPath, ['-e', script], { timeout: 20_000 })
  assert.equal(run.status, 0, String(run.stderr))
  assert.equal(String(run.stdout).trim(), 'true')
})

const COMMAND = join(import.meta.dirname, '../bin/restitch.cjs')

test('the command runs in this process', () => {
  const run = (args, options) => spawnSync(process.execPath, [COMMAND, ...args], { encoding: 'utf8', ...options })
  const edited = run(['edit', '-', '--old', 'one', '--new', 'two'], { input: 'one' })
  assert.deepEqual([edited.status, edited.stdout], [0, 'two'], edited.stderr)
  assert.equal(run(['edit', '-', '--old', 'other', '--new', 'two'], { input: 'one' }).status, 1)
  assert.equal(run(['no-such-command']).status, 2)
  assert.match(run(['--version']).stdout, new RegExp(restitch.version))

  const cwd = mkdtempSync(join(tmpdir(), 'restitch-'))
  mkdirSync(join(cwd, '.git'))
  run(['init', 'claude', '--write'], { cwd })
  const checked = run(['doctor', '--client', 'claude'], { cwd })
  assert.match(checked.stdout, /edited a test file/, checked.stderr)
})

for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143]]) {
  test(`${signal} ends the command`, { skip: process.platform === 'win32' && 'SKIPPED: Windows has no such signals' }, async () => {
    const root = mkdtempSync(join(tmpdir(), 'restitch-'))
    const server = spawn(process.execPath, [COMMAND, '--root', root, 'mcp'])
    const ended = once(server, 'exit')
    server.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert.match(String((await once(server.stdout, 'data'))[0]), /"id":1/)
    server.kill(signal)
    assert.deepEqual(await ended, [code, null])
  })
}

test('the declarations fit', { skip: !existsSync(join(import.meta.dirname, '../node_modules/.bin/tsc')) && 'SKIPPED: there is no tsc (npm install)' }, () => {
  const run = spawnSync(join(import.meta.dirname, '../node_modules/.bin/tsc'), ['-p', join(import.meta.dirname, '..')])
  assert.equal(run.status, 0, String(run.stdout))
})
