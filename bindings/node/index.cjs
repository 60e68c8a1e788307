'use strict'

const native = require('./native.cjs')
const { Applied, Refused, RefusedError, Result, camel, pure, refused } = require('./results.cjs')

class Edited extends Result {}
class ReadText extends Result {}
class Undone extends Result {}

const { apply, applyMany } = pure((text, edits, { path, syntax }) => {
  // A copy, since the caller may change its bytes before it asks for the diff.
  const before = typeof text === 'string' ? text : Buffer.from(text)
  const result = native.applyMany(before, edits, path, syntax)
  if (result.report !== undefined) result.report = JSON.parse(result.report)
  // Not a function of its own: V8 keeps such results, with their texts, until a full collection.
  else result.before = before
  return result
})

const present = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

class Engine {
  #native

  constructor(options) {
    const given = typeof options === 'string' ? { root: options } : options
    const { root, state, allowProtected = [], syntax, store, model } = given
    const load = store && (async (path) => (await store.load(path)) ?? null)
    const storeIf =
      store && (async (path, bytes, version) => Boolean(await store.storeIf(path, bytes, version)))
    const ask = model && (async (question) => await model(JSON.parse(question)))
    this.#native = new native.NativeEngine(root, state, allowProtected, syntax, load, storeIf, ask)
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

/** The symbol by which the `ai` package recognises a schema, so that we need not depend on it. */
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
