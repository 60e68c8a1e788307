// Packs what is built for one platform: pack.mjs TARGET OUT
//
// Two tarballs: the package of the platform (the addon) and `restitch` itself,
// which asks for the packages of all platforms and takes the one that fits.

import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const [target, out] = process.argv.slice(2)
const here = join(dirname(fileURLToPath(import.meta.url)), '..')
const meta = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))

/** Node's names for the platform of a Rust target. */
function platform(triple) {
  const arch = { x86_64: 'x64', aarch64: 'arm64' }[triple.split('-')[0]]
  if (triple.includes('apple')) return { os: 'darwin', arch, name: `darwin-${arch}` }
  if (triple.includes('windows')) return { os: 'win32', arch, name: `win32-${arch}-msvc` }
  const libc = triple.endsWith('musl') ? 'musl' : 'glibc'
  return { os: 'linux', arch, libc, name: `linux-${arch}-${libc === 'musl' ? 'musl' : 'gnu'}` }
}

const scope = meta.napi.packageName
const { os, arch, libc, name } = platform(target)
const addon = `${meta.napi.binaryName}.${name}.node`
const folder = mkdtempSync(join(tmpdir(), 'restitch-pack-'))
const common = Object.fromEntries(['version', 'license', 'repository', 'engines'].map((key) => [key, meta[key]]))

function pack(from) {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: from, stdio: 'inherit' })
}

const own = join(folder, 'platform')
mkdirSync(own)
copyFileSync(join(here, addon), join(own, addon))
writeFileSync(join(own, 'README.md'), `The part of \`restitch\` for ${target}.\n`)
writeFileSync(
  join(own, 'package.json'),
  JSON.stringify({
    name: `${scope}-${name}`,
    description: `restitch for ${target}`,
    ...common,
    os: [os],
    cpu: [arch],
    ...(libc && { libc: [libc] }),
    main: addon,
    files: [addon],
  }),
)
pack(own)

const main = join(folder, 'main')
mkdirSync(main)
for (const file of meta.files) cpSync(join(here, file), join(main, file), { recursive: true })
const optional = meta.napi.targets.map((triple) => [`${scope}-${platform(triple).name}`, meta.version])
const { devDependencies, scripts, ...kept } = meta
writeFileSync(
  join(main, 'package.json'),
  JSON.stringify({ ...kept, optionalDependencies: Object.fromEntries(optional) }, null, 2),
)
pack(main)
