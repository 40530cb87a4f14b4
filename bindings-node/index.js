'use strict'

const { BrimfulError } = require('./lib/errors.js')
const { Pool } = require('./lib/pool.js')
const { PooledBuffer } = require('./lib/buffer.js')
const { Collector } = require('./lib/collector.js')
const { collect, collectPooled, collectInto, collectSync, collectPooledSync } = require('./lib/collect.js')

module.exports = { collect, collectPooled, collectInto, collectSync, collectPooledSync, Collector, Pool, PooledBuffer, BrimfulError }
