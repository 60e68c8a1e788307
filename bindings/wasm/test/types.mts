// Checked by the compiler, never run: what programs may rely on.

import { Applied, Refused, apply, applyMany, version } from '../package/index.js'
import { init, initFrom } from '../package/init.js'

const words: Applied | Refused = apply('a', 'a', 'b', { expected: 1, path: 'a.ts' })
const bytes: Applied<Uint8Array> | Refused = apply(new Uint8Array(), 'a', 'b')
if (words.ok) words.text.toUpperCase()
else words.nearest[0]?.firstDifference?.found.trim()
const after: Uint8Array = bytes.unwrap().text
applyMany('a', [{ old: 'a', new: 'b', nearLine: 1 }])
init(new Uint8Array())
void initFrom(new URL('https://example.com/restitch.wasm'))

// @ts-expect-error: an edit has two texts
applyMany('a', [{ old: 'a' }])
// @ts-expect-error: there is no parser in it
apply('a', 'a', 'b', { syntax: 'veto' })

void [after, version.length]
