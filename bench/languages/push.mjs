// A million pushes of one byte, in Node: ns of each, the least and the median of several bodies.
//
//     node push.mjs PUSHES      in a folder where brimful is installed; prints one JSON object
import { createRequire } from 'node:module'

const { Collector } = createRequire(process.cwd() + '/')('brimful')

const BYTE = Uint8Array.of(120)

function body (pushes) {
  const collector = new Collector()
  const started = process.hrtime.bigint()
  for (let i = 0; i < pushes; i++) collector.write(BYTE)
  const took = Number(process.hrtime.bigint() - started)
  collector.end()
  if (collector.finish().length !== pushes) throw new Error('bytes are missing')
  return took / pushes
}

const pushes = Number(process.argv[2])
const took = Array.from({ length: 9 }, () => body(pushes)).sort((one, other) => one - other)
console.log(JSON.stringify({ ns: Math.round(took[4] * 100) / 100, least: Math.round(took[0] * 100) / 100 }))
