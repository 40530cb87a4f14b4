import consumers from './consumers.js'

export const { arrayBuffer, buffer, bytes, text, json } = consumers
