// The pure function as programs use it; the package over WebAssembly passes the same tests.

import assert from 'node:assert/strict'
import test from 'node:test'

export const GO = 'func serve(c *Conn) {\n\tfor {\n\t\tif err := c.Next(); err != nil {\n\t\t\treturn\n\t\t}\n\t}\n}\n'

export function check({ Applied, Refused, RefusedError, apply, applyMany }) {
  test('a mistake is undone in both strings', () => {
    const result = apply(
      GO,
      'if err := c.Next(); err != nil {\n\treturn\n}',
      'if err := c.Next(); err != nil {\n\tlog.Println(err)\n\treturn\n}',
      { path: 'serve.go' },
    )
    assert.ok(result instanceof Applied && result.ok)
    assert.match(result.text, /\n\t\t\tlog\.Println\(err\)\n/)
    assert.equal(result.rung, 'indentation')
    assert.equal(result.spans[0].before.startLine, 3)
    assert.match(result.diff, /^--- a\/serve\.go/)
  })

  test('a refusal is a result, and unwrap throws', () => {
    const result = apply(GO, 'if err := c.Last(); err != nil {', 'if true {')
    assert.ok(result instanceof Refused && !result.ok)
    assert.equal(result.code, 'EDIT_NO_OCCURRENCE_FOUND')
    // Only a text after an edit is called `text`, so a refusal is never written to a file.
    assert.equal(result.text, undefined)
    assert.match(result.message, /^EDIT_NO_OCCURRENCE_FOUND: /)
    assert.equal(result.nearest[0].firstDifference.line, 3)
    assert.throws(() => result.unwrap(), (error) => error instanceof RefusedError && error.refused === result)
  })

  test('bytes stay in their encoding, and half a character is refused', () => {
    const latin = Buffer.from('café\r\nthé\r\n', 'latin1')
    assert.deepEqual(Buffer.from(apply(latin, 'thé', 'lait').unwrap().text), Buffer.from('café\r\nlait\r\n', 'latin1'))
    const bytes = new Uint8Array(latin)
    const applied = apply(bytes, 'thé', 'lait').unwrap()
    assert.deepEqual(applied.text.length, latin.length + 1)
    bytes.fill(0)
    assert.match(applied.diff, /-thé\r?\n\+lait/)
    for (const [text, new_] of [['a\n', '\ud83d'], ['a\ud83d\n', 'b']]) {
      const refused = apply(text, 'a', new_)
      assert.equal(refused.code, 'EDIT_INVALID_ARGUMENTS')
      assert.deepEqual(refused.nearest, [])
    }
  })

  test('many are all or nothing, against the original', () => {
    const text = 'one\ntwo\nthree\n'
    const done = applyMany(text, [{ old: 'three', new: 'two' }, { old: 'two', new: '2' }])
    assert.equal(done.unwrap().text, 'one\n2\ntwo\n')
    const refused = applyMany(text, [{ old: 'one', new: '1' }, { old: 'four', new: '4' }])
    assert.match(refused.reason, /^edit 2 of 2: /)
    assert.equal(applyMany(text, []).ok, false)
  })

  test('counts', () => {
    const text = 'a\nb\na\n'
    assert.equal(apply(text, 'a', 'c', { replaceAll: true }).unwrap().text, 'c\nb\nc\n')
    assert.equal(apply(text, 'a', 'c', { expected: 2 }).unwrap().replacements, 2)
    assert.equal(apply(text, 'a', 'c', { nearLine: 3 }).unwrap().text, 'a\nb\nc\n')
    assert.deepEqual(apply(text, 'a', 'c').occurrences, [1, 3])
  })
}
