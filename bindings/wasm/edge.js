// Vercel's edge functions compile a module when they import it so.
import module from './restitch.wasm?module'

import { init } from './init.js'

init(module)

export * from './index.js'
