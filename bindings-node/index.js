'use strict'

const { BrimfulError } = require('./lib/errors.js')
const { Pool } = require('./lib/pool.js')
const { PooledBuffer } = require('./lib/buffer.js')
const { Collector } = require('./lib/collector.js')
const { collect, collectPooled, collectInto, collectText, collectJson, collectSync, collectPooledSync, collectTextSync } = require('./lib/collect.js')

module.exports = { collect, collectPooled, collectInto, collectText, collectJson, collectSync, collectPooledSync, collectTextSync, Collector, Pool, PooledBuffer, BrimfulError }
