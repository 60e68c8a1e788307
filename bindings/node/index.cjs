'use strict'

const native = require('./native.cjs')

class RefusedError extends Error {
  constructor(refused) {
    super(refused.text)
    this.name = 'RefusedError'
    this.refused = refused
  }
}

class Result {
  get ok() {
    return true
  }
  unwrap() {
    return this
  }
}

class Applied extends Result {}
class Edited extends Result {}
class ReadText extends Result {}
class Undone extends Result {}

class Refused {
  get ok() {
    return false
  }
  unwrap() {
    throw new RefusedError(this)
  }
}

/** JSON of the core with the names of JavaScript. */
function camel(value) {
  if (Array.isArray(value)) return value.map(camel)
  if (value === null || typeof value !== 'object') return value
  const name = (key) => key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name(key), camel(inner)]))
}

function refused(report, text) {
  const lists = { occurrences: [], nearest: [], outcomes: [], conflicts: [], attempts: [] }
  return Object.assign(new Refused(), lists, camel(report), { text })
}

/** A text that is none: half of a character is kept by JavaScript and by nobody else. */
function malformed(text) {
  if (typeof text !== 'string') return false
  return text.isWellFormed ? !text.isWellFormed() : /\p{Surrogate}/u.test(text)
}

function halfCharacter(what) {
  const report = {
    code: 'EDIT_INVALID_ARGUMENTS',
    message: `${what} holds a lone surrogate, which is half of a character`,
    hint: 'Send the whole character.',
  }
  return refused(report, `${report.code}: ${report.message}\nNext: ${report.hint}`)
}

function apply(text, old, new_, options = {}) {
  const { path, ...edit } = options
  return applyMany(text, [{ old, new: new_, ...edit }], { path })
}

function applyMany(text, edits, { path } = {}) {
  if (malformed(text)) return halfCharacter('text')
  for (const edit of edits) {
    if (malformed(edit.old)) return halfCharacter('old')
    if (malformed(edit.new)) return halfCharacter('new')
  }
  const bytes = typeof text !== 'string' && !Buffer.isBuffer(text)
  const given = bytes ? Buffer.from(text.buffer, text.byteOffset, text.byteLength) : text
  const result = native.applyMany(given, edits, path)
  if (result.report !== undefined) return refused(JSON.parse(result.report), result.text)
  result.corrected ??= null
  return Object.assign(new Applied(), result)
}

const present = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

class Engine {
  #native

  constructor(options) {
    const given = typeof options === 'string' ? { root: options } : options
    const { root, state, allowProtected = [], store, model } = given
    const load = store && (async (path) => (await store.load(path)) ?? null)
    const storeIf =
      store && (async (path, bytes, version) => Boolean(await store.storeIf(path, bytes, version)))
    const ask = model && (async (question) => await model(JSON.parse(question)))
    this.#native = new native.NativeEngine(root, state, allowProtected, load, storeIf, ask)
  }

  async call(name, args, { dryRun = false, requestId } = {}) {
    const given = typeof args === 'string' ? args : JSON.stringify(args)
    return JSON.parse(await this.#native.call(name, given, dryRun, requestId))
  }

  tools(format = 'openai') {
    const declared = JSON.parse(this.#native.tools(format))
    return Array.isArray(declared) ? declared : declared.tools
  }

  async edit(path, old, new_, options = {}) {
    const { dryRun, replaceAll, expected, nearLine } = options
    const args = present({
      path,
      old_str: old,
      new_str: new_,
      replace_all: replaceAll,
      expected_replacements: expected,
      near_line: nearLine,
    })
    return result(new Edited(), await this.call('edit_file', args, { dryRun }))
  }

  async read(path, { offset, limit, style } = {}) {
    const args = present({ path, offset, limit, style })
    return result(new ReadText(), await this.call('read_file', args))
  }

  async undo(revision) {
    const reply = await this.call('undo', present({ revision }))
    if (!reply.ok) return refused(reply.report, reply.message)
    const files = reply.report.files.map((file) => Object.assign(new Edited(), camel(file)))
    return Object.assign(new Undone(), { revision: reply.report.undone, files, message: reply.message })
  }
}

function result(kind, reply) {
  if (!reply.ok) return refused(reply.report, reply.message)
  return Object.assign(kind, camel(reply.report), { message: reply.message })
}

/** What the `ai` package knows a schema by, without a dependency on it. */
const schemaMark = Symbol.for('vercel.ai.schema')

function tools(options) {
  const engine = options instanceof Engine ? options : new Engine(options)
  const wanted = options instanceof Engine ? undefined : options.tools
  const declared = engine.tools('mcp').filter(({ name }) => !wanted || wanted.includes(name))
  return Object.fromEntries(
    declared.map(({ name, description, inputSchema }) => [
      name,
      {
        description,
        inputSchema: { [schemaMark]: true, jsonSchema: inputSchema, validate: undefined },
        // A refusal is an answer for the model, so that it can send the next call.
        execute: async (input) => (await engine.call(name, input)).message,
      },
    ]),
  )
}

module.exports = {
  apply,
  applyMany,
  Engine,
  tools,
  Applied,
  Edited,
  ReadText,
  Refused,
  RefusedError,
  Undone,
  version: native.version(),
}
