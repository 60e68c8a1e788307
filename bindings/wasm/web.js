// Browsers fetch the module; bundlers know this form of its address.
import { initFrom } from './init.js'

await initFrom(new URL('./restitch.wasm', import.meta.url))

export * from './index.js'
