import { readFileSync } from 'node:fs'

const { apply } = await import(process.argv[2])

const [text, calls] = JSON.parse(readFileSync(0, 'utf8'))
const medians = calls.map(([old, new_]) => {
  const times = Array.from({ length: 400 }, () => {
    const start = process.hrtime.bigint()
    apply(text, old, new_, { path: 'a.go' }).unwrap()
    return Number(process.hrtime.bigint() - start) / 1e3
  })
  return times.sort((a, b) => a - b)[200]
})
console.log(JSON.stringify(medians))
