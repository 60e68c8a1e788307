// The interface as programs use it: the tests of the pure function in the package for Node.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'

import { check } from '../../node/test/pure.mjs'

const folder = process.env.RESTITCH_FOLDER ?? join(import.meta.dirname, '../package')
const restitch = await import(join(folder, 'node.js'))
const { initSync } = await import(join(folder, 'native.js'))
const tsc = join(import.meta.dirname, '../../node/node_modules/.bin/tsc')

check(restitch)

test('what it lacks is said', () => {
  assert.throws(() => restitch.apply('a\n', 'a', 'b', { syntax: 'veto' }), /has no parser/)
  assert.equal(restitch.apply('a\n', 'a', 'b', { syntax: 'off' }).unwrap().text, 'b\n')
})

test('an argument of another kind is an error, and the next call works', () => {
  assert.throws(() => restitch.apply('a\n', 'a', 'b', { expected: 'two' }), /invalid type/)
  assert.throws(() => restitch.applyMany('a\n', [{ old: 'a' }]), /missing field `new`/)
  assert.equal(restitch.apply('a\n', 'a', 'b').unwrap().text, 'b\n')
})

test('a module of the caller', () => {
  // In a process of its own, where no entry has brought one.
  const script = `
    const { readFileSync } = await import('node:fs')
    const restitch = await import(${JSON.stringify(join(folder, 'init.js'))})
    try { restitch.apply('a', 'a', 'b') } catch (error) { console.log(error.message) }
    restitch.init(new WebAssembly.Module(readFileSync(${JSON.stringify(join(folder, 'restitch.wasm'))})))
    console.log(restitch.apply('a', 'a', 'b').text, restitch.version)
  `
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script])
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json')))
  assert.equal(String(run.stdout), `restitch-wasm: call \`init\` first\nb ${version}\n`, String(run.stderr))
})

test('calls leave no memory behind', () => {
  const text = Array.from({ length: 2000 }, (_, at) => `line ${at} of a file\n`).join('')
  const edit = () => restitch.apply(text, 'line 700 of', 'other').unwrap()
  const memory = () => initSync().memory.buffer.byteLength
  for (let at = 0; at < 20; at++) edit()
  const before = memory()
  for (let at = 0; at < 300; at++) edit()
  assert.equal(memory(), before)
})

test('the declarations fit', { skip: !existsSync(tsc) && 'SKIPPED: there is no tsc (npm install in bindings/node)' }, () => {
  const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--types', '', '--lib', 'es2022,dom']
  const run = spawnSync(tsc, [...flags, join(import.meta.dirname, 'types.mts')])
  assert.equal(run.status, 0, String(run.stdout))
})
