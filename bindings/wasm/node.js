import { readFileSync } from 'node:fs'

import { init } from './init.js'

init(readFileSync(new URL('./restitch.wasm', import.meta.url)))

export * from './index.js'
