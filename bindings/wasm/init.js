// `apply` and `applyMany` over a WebAssembly module that the caller passes in; the other entry points
// use this one.

import fetched, { applyBytes, applyText, initSync, version as ofCore } from './native.js'
import { pure } from './results.js'

export { Applied, Refused, RefusedError } from './results.js'

export let version

/** `module` is a compiled module, or the bytes of `restitch.wasm`. */
export function init(module) {
  initSync({ module })
  version = ofCore()
}

/** The same with a URL to fetch the module from, a response, or a promise of a response. */
export async function initFrom(source) {
  await fetched({ module_or_path: source })
  version = ofCore()
}

export const { apply, applyMany } = pure((text, edits, { path, syntax = 'off' }) => {
  if (version === undefined) throw new Error('restitch-wasm: call `init` first')
  if (syntax !== 'off') throw new Error('restitch-wasm has no parser: leave `syntax` out')
  const decide = typeof text === 'string' ? applyText : applyBytes
  const [answer, after] = decide(text, JSON.stringify(edits), path)
  const fields = JSON.parse(answer)
  fields.change = { describe: () => fields }
  if (after !== undefined) fields.text = after
  return fields
})
