'use strict'

/** Whether this process is linked with musl in place of glibc. */
function isMusl() {
  if (process.platform !== 'linux') return false
  const report = process.report?.getReport()
  return !report?.header?.glibcVersionRuntime
}

function platformPackage() {
  const libc = { linux: isMusl() ? '-musl' : '-gnu', win32: '-msvc', darwin: '' }[process.platform]
  return `@restitch/binding-${process.platform}-${process.arch}${libc ?? ''}`
}

const commandName = process.platform === 'win32' ? 'restitch.exe' : 'restitch'

module.exports = { platformPackage, commandName }
