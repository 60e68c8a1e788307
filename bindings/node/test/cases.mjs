// The repository's fixtures, read as the Rust suite reads them.

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const FIXTURES = join(dirname(fileURLToPath(import.meta.url)), '../../../fixtures')

function* walk(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* walk(path)
    else yield path
  }
}

export function* packed() {
  for (const file of walk(FIXTURES)) {
    if (!file.endsWith('.pack.jsonl')) continue
    const sources = new Map()
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (!line.trim()) continue
      const row = JSON.parse(line)
      if (row.source !== undefined) {
        sources.set(row.source, row)
        continue
      }
      const source = sources.get(row.of)
      let before = Buffer.from(source.text)
      const spliced = ([start, end], text) =>
        Buffer.concat([before.subarray(0, start), Buffer.from(text), before.subarray(end)])
      if (row.patch) before = spliced(row.patch, row.patch[2])
      yield {
        id: row.id,
        path: source.path,
        before,
        old: row.old,
        new: row.new,
        options: {
          expected: row.expected || undefined,
          replaceAll: row.expected === 0,
          nearLine: row.near_line,
        },
        right: (row.right?.[2] ?? []).map((text) => spliced(row.right, text)),
        refuse: row.refuse ?? [],
        knownFailure: Boolean(row.known_failure),
      }
    }
  }
}

function tree(folder) {
  const files = new Map()
  if (!existsSync(folder)) return files
  for (const file of walk(folder)) files.set(relative(folder, file).replaceAll('\\', '/'), readFileSync(file))
  return files
}

const toml = (() => {
  try {
    return createRequire(import.meta.url)('smol-toml')
  } catch {}
})()

/** Why the cases in folders cannot be read; nothing where they can. */
export const noFolders = toml ? undefined : 'SKIPPED: smol-toml is not installed (npm install)'

export function* folders() {
  if (!toml) return
  for (const file of walk(FIXTURES)) {
    if (!file.endsWith('case.toml')) continue
    const folder = dirname(file)
    const spec = toml.parse(readFileSync(file, 'utf8'))
    const args = { ...spec.arguments }
    for (const name of ['path', 'expected_replacements', 'replace_all', 'near_line']) {
      if (name in spec) args[name] = spec[name]
    }
    for (const [name, text] of [['old_str', 'old.txt'], ['new_str', 'new.txt']]) {
      if (existsSync(join(folder, text))) args[name] = readFileSync(join(folder, text), 'utf8')
    }
    const replies = join(folder, 'replies.jsonl')
    yield {
      id: relative(FIXTURES, folder),
      tool: spec.tool ?? 'edit_file',
      args,
      before: tree(join(folder, 'before')),
      after: readdirSync(folder).filter((name) => /^after/.test(name)).sort().map((name) => tree(join(folder, name))),
      refuse: spec.expect.refuse ?? [],
      rung: spec.expect.rung,
      modelCalls: spec.expect.model_calls,
      replies: existsSync(replies) ? readFileSync(replies, 'utf8') : undefined,
      knownFailure: spec.status === 'known_failure',
    }
  }
}

/** A store in a map; a version is a counter. */
export class Files {
  constructor(files) {
    this.files = new Map(files)
    this.versions = new Map([...this.files.keys()].map((path) => [path, 1]))
  }
  load(path) {
    if (!this.files.has(path)) return null
    return { bytes: this.files.get(path), version: String(this.versions.get(path)) }
  }
  storeIf(path, bytes, version) {
    const now = this.files.has(path) ? String(this.versions.get(path)) : null
    if (now !== version) return false
    if (bytes === null) this.files.delete(path)
    else {
      this.files.set(path, bytes)
      this.versions.set(path, (this.versions.get(path) ?? 0) + 1)
    }
    return true
  }
}

export const same = (a, b) =>
  a.size === b.size && [...a].every(([path, bytes]) => b.has(path) && Buffer.compare(bytes, b.get(path)) === 0)

const SCHEMAS = {
  correct_old: 'corrected_old_str',
  adjust_new: 'adjusted_new_str',
  repair_escapes: 'repaired_escapes',
  choose: 'chosen_place',
}

/** A model that gives recorded answers, each once, in order. */
export function recorded(replies) {
  const rows = replies.split('\n').filter((line) => line.trim()).map((line) => JSON.parse(line))
  const model = async (question) => {
    model.asked += 1
    const at = rows.findIndex((row) => SCHEMAS[row.ask] === question.schemaName)
    const [row] = rows.splice(at, 1)
    if (row.error !== undefined) throw new Error(row.error)
    return JSON.stringify(row.answer)
  }
  model.asked = 0
  return model
}
