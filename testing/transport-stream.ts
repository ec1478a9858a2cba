/** Edits of MPEG transport streams (ISO/IEC 13818-1) that ffmpeg does not write. */

const packetBytes = 188;
const pmtTableId = 2;
/** Metadata in PES packets, by `stream_type`, and its kind by a registration descriptor. */
const metadataType = 0x15;
const registration = Buffer.from([0x05, 4, ...Buffer.from('ID3 ')]);
const languageTag = 0x0a;

/** Declares the streams of a type, which state a language, to be metadata; their packets stay as they are. */
export function withMetadataFor(streamType: number, bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  for (let at = 0; at + packetBytes <= changed.length; at += packetBytes) {
    const isStart = ((changed[at + 1] ?? 0) & 0x40) !== 0;
    const section = at + 5 + (changed[at + 4] ?? 0);
    if (!isStart || changed[section] !== pmtTableId || section > at + 20) continue;
    const end = section + 3 + (changed.readUInt16BE(section + 1) & 0xfff) - 4;
    for (let stream = section + 12 + (changed.readUInt16BE(section + 10) & 0xfff); stream < end;) {
      if (changed[stream] === streamType && changed[stream + 5] === languageTag) {
        changed[stream] = metadataType;
        registration.copy(changed, stream + 5);
      }
      stream += 5 + (changed.readUInt16BE(stream + 3) & 0xfff);
    }
    changed.writeUInt32BE(crc32(changed.subarray(section, end)), end);
  }
  return changed;
}

/** The checksum of sections (annex A). */
function crc32(bytes: Buffer): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) crc = crc < 0 ? (crc << 1) ^ 0x04c1_1db7 : crc << 1;
  }
  return crc >>> 0;
}
