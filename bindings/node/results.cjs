// The results of `apply` and `applyMany`, shared by the native addon and WebAssembly.

'use strict'

class RefusedError extends Error {
  constructor(refused) {
    super(refused.message)
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

class Refused {
  get ok() {
    return false
  }
  unwrap() {
    throw new RefusedError(this)
  }
}

/** A JSON value with its field names in camel case. */
function camel(value) {
  if (Array.isArray(value)) return value.map(camel)
  if (value === null || typeof value !== 'object') return value
  const name = (key) => key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [name(key), camel(inner)]))
}

function refused({ message: reason, ...report }, message) {
  const lists = { occurrences: [], nearest: [], outcomes: [], conflicts: [], attempts: [] }
  return Object.assign(new Refused(), lists, camel(report), { reason, message })
}

/** Whether a string contains a lone surrogate, which only JavaScript's strings can hold. */
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

/**
 * `apply` and `applyMany` over a native core. `decide(text, edits, options)` takes a string or bytes
 * and returns the fields of an `Applied`, with a `change` that makes `spans` and `diff` of the text
 * `before` when one of them is first asked for, or the `report` of a refusal and its `text`.
 */
function pure(decide) {
  function applyMany(text, edits, options = {}) {
    if (malformed(text)) return halfCharacter('text')
    for (const edit of edits) {
      if (malformed(edit.old)) return halfCharacter('old')
      if (malformed(edit.new)) return halfCharacter('new')
    }
    const result = decide(text, edits, options)
    if (result.report !== undefined) return refused(result.report, result.text)
    const { change, before } = result
    let described
    return {
      __proto__: Applied.prototype,
      text: result.text,
      rung: result.rung,
      rewrites: result.rewrites,
      replacements: result.replacements,
      warnings: result.warnings,
      corrected: result.corrected ?? null,
      get spans() {
        return (described ??= change.describe(before)).spans
      },
      get diff() {
        return (described ??= change.describe(before)).diff
      },
    }
  }
  function apply(text, old, new_, { path, syntax, ...edit } = {}) {
    return applyMany(text, [{ old, new: new_, ...edit }], { path, syntax })
  }
  return { apply, applyMany }
}

module.exports = { Applied, Refused, RefusedError, Result, camel, pure, refused }
