// The same package as CommonJS sees it.
import brimful = require('brimful')

const data: Buffer = brimful.collectSync(['a', 'b'])
const collector: brimful.Collector<brimful.PooledBuffer> = new brimful.Collector({ result: 'pooled' })

export = { data, collector }
