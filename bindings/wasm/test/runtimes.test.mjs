// The package as it is installed, in what it is for: Node by both kinds of import, Cloudflare's
// workers, a browser, a bundler.

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import test from 'node:test'

const folder = process.env.RESTITCH_FOLDER ?? join(import.meta.dirname, '../package')
const PROGRAM = `apply('f(a , b)\\n', 'f(a, b)', 'g(a, b)', { path: 'a.js' }).unwrap().text`
const WANTED = 'g(a , b)\n'

const there = mkdtempSync(join(tmpdir(), 'restitch-wasm-'))
const installed = join(there, 'node_modules/restitch-wasm')
mkdirSync(join(there, 'node_modules'), { recursive: true })
cpSync(folder, installed, { recursive: true })
test.after(() => rmSync(there, { recursive: true, force: true }))

const require = createRequire(import.meta.url)
function found(name) {
  try {
    return require.resolve(name)
  } catch {}
}

test('Node, by import and by require', () => {
  writeFileSync(join(there, 'a.mjs'), `import { apply } from 'restitch-wasm'\nprocess.stdout.write(${PROGRAM})\n`)
  assert.equal(String(execFileSync(process.execPath, ['a.mjs'], { cwd: there })), WANTED)
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) {
    writeFileSync(join(there, 'a.cjs'), `const { apply } = require('restitch-wasm')\nprocess.stdout.write(${PROGRAM})\n`)
    assert.equal(String(execFileSync(process.execPath, ['a.cjs'], { cwd: there })), WANTED)
  }
})

const miniflare = found('miniflare')
test('a Cloudflare worker', { skip: !miniflare && 'SKIPPED: there is no miniflare (npm install)' }, async () => {
  const { Miniflare } = await import(miniflare)
  const contents = (name) => readFileSync(join(installed, name))
  const modules = ['worker.js', 'index.js', 'init.js', 'native.js', 'results.js'].map((name) => (
    { type: 'ESModule', path: name, contents: contents(name) }
  ))
  modules.push({ type: 'CompiledWasm', path: 'restitch.wasm', contents: contents('restitch.wasm') })
  const main = `import { apply } from './worker.js'\nexport default { fetch: () => new Response(${PROGRAM}) }\n`
  const runtime = new Miniflare({ modules: [{ type: 'ESModule', path: 'main.js', contents: main }, ...modules] })
  try {
    const response = await runtime.dispatchFetch('http://localhost/')
    assert.equal(await response.text(), WANTED)
  } finally {
    await runtime.dispose()
  }
})

const TYPES = { '.js': 'text/javascript', '.html': 'text/html', '.wasm': 'application/wasm' }
const page = (script) => `<!doctype html><body><script type="module">${script}</script>`
const chromium = ['chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
)
const noBrowser = !chromium && 'SKIPPED: there is no Chromium'

/** What a page has in its title at the end. */
async function browsed(files, html) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    const file = join(files, pathname)
    if (pathname !== '/' && !existsSync(file)) return response.writeHead(404).end()
    response.setHeader('content-type', TYPES[extname(pathname) || '.html'] ?? 'text/plain')
    response.end(pathname === '/' ? html : readFileSync(file))
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  try {
    const profile = mkdtempSync(join(there, 'profile-'))
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', `--user-data-dir=${profile}`]
    const address = `http://127.0.0.1:${server.address().port}/`
    const browser = spawn(chromium, [...flags, '--virtual-time-budget=60000', '--dump-dom', address])
    let said = ''
    browser.stdout.on('data', (text) => (said += text))
    await new Promise((done) => browser.on('close', done))
    return said
  } finally {
    server.close()
  }
}

test('a browser', { skip: noBrowser }, async () => {
  const script = `import { apply } from '/web.js'; document.title = JSON.stringify(${PROGRAM})`
  assert.match(await browsed(installed, page(script)), /<title>"g\(a , b\)\\n"<\/title>/)
})

const vite = found('vite')
test('a browser, bundled by Vite', { skip: (!vite && 'SKIPPED: there is no Vite (npm install)') || noBrowser }, async () => {
  const site = join(there, 'site')
  mkdirSync(site)
  writeFileSync(join(site, 'index.html'), '<!doctype html><body><script type="module" src="/main.js"></script>')
  writeFileSync(join(site, 'main.js'), `import { apply } from 'restitch-wasm'\ndocument.title = JSON.stringify(${PROGRAM})\n`)
  const { build } = await import(vite)
  await build({ root: site, logLevel: 'error', build: { target: 'es2022', outDir: join(there, 'built') } })
  const html = readFileSync(join(there, 'built/index.html'), 'utf8')
  assert.match(await browsed(join(there, 'built'), html), /<title>"g\(a , b\)\\n"<\/title>/)
})
