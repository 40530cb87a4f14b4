import { collect } from 'brimful'

const response = await fetch(process.argv[2])
const data = await collect(response, { limit: 100_000_000 }) // larger: ERR_BRIMFUL_LIMIT
console.log(data.length, 'bytes')
