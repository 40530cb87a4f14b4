import brimful from './index.js'

export const { collect, collectPooled, collectSync, collectPooledSync, Collector, Pool, PooledBuffer, BrimfulError } = brimful
