// Cloudflare's workers compile a module when they import it.
import module from './restitch.wasm'

import { init } from './init.js'

init(module)

export * from './index.js'
