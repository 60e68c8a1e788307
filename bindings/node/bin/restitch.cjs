#!/usr/bin/env node
'use strict'

const { spawn } = require('node:child_process')
const { existsSync } = require('node:fs')
const { join } = require('node:path')
const { constants } = require('node:os')
const { platformPackage, commandName } = require('./platform.cjs')

function command() {
  const beside = join(__dirname, '..', commandName)
  if (existsSync(beside)) return beside
  try {
    return require.resolve(`${platformPackage()}/${commandName}`)
  } catch {
    return null
  }
}

const path = command()
if (path === null) {
  console.error(
    `restitch: there is no command for ${process.platform} ${process.arch}; was it installed with --no-optional? Try: cargo install restitch`,
  )
  process.exit(3)
}

const child = spawn(path, process.argv.slice(2), { stdio: 'inherit' })
// Pass signals on to the command.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(`restitch: cannot start ${path}: ${error.message}`)
  process.exit(3)
})
child.on('exit', (code, signal) => {
  process.exit(signal === null ? code : 128 + constants.signals[signal])
})
