// The names of node:stream/consumers, with options.
'use strict'

const { collect, collectText: text, collectJson: json } = require('./lib/collect.js')

const buffer = collect
const arrayBuffer = async (source, options) => (await collect(source, options)).buffer
const bytes = async (source, options) => new Uint8Array(await arrayBuffer(source, options))

module.exports = { arrayBuffer, buffer, bytes, text, json }
