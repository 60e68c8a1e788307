import restitch from './index.cjs'

export const {
  apply,
  applyMany,
  Engine,
  tools,
  Applied,
  Edited,
  ReadText,
  Refused,
  RefusedError,
  Undone,
  version,
} = restitch
export default restitch
