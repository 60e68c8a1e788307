export { Applied, Refused, RefusedError, apply, applyMany, version } from './init.js'
