import brimful from './index.js'

export const { collect, collectPooled, collectInto, collectText, collectJson, collectSync, collectPooledSync, collectTextSync, Collector, Pool, PooledBuffer, BrimfulError } = brimful
