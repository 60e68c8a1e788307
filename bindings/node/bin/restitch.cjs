#!/usr/bin/env node
'use strict'

let native
try {
  native = require('../native.cjs')
} catch {
  console.error(
    `restitch: there is no command for ${process.platform} ${process.arch}; was it installed with --no-optional? Try: cargo install restitch`,
  )
  process.exit(3)
}

// Node's own handlers would raise the signal again; without a listener that is left, there are none.
const none = () => {}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, none).off(signal, none)
process.exit(native.main([process.execPath, __filename], process.argv.slice(1)))
