import brimful from './index.js'

export const { collect, collectPooled, collectInto, collectSync, collectPooledSync, Collector, Pool, PooledBuffer, BrimfulError } = brimful
