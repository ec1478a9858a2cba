// What to do about the error of a job: the column of docs/reference/errors.md, which a test compares.

/** @type {Record<string, string>} */
export const jobAdvice = {
  source_not_found: 'upload it, then submit again',
  source_unreadable: 'check the source bucket and its key; then retry the jobs',
  source_changed: 'retry; do not replace an object while a job reads it',
  unsupported_media: 'send another format (media.md)',
  corrupt_input: 'upload the file again; the end of the log shows what is wrong with it',
  no_video_stream: 'submit another source, or use a profile with audio_only: stream',
  timestamp_out_of_range: '–',
  limit_exceeded: 'send a smaller source, or raise MAX_FILE_SIZE',
  resource_exhausted: "raise the pool's memory limit or scratch; check LAST ERROR of kubectl get rp -o wide",
  preempted_too_often: 'move the pool to nodes that live longer, then retry',
  deadline_exceeded: 'raise activeDeadlineSeconds, or give the pods more CPU',
  storage_error: 'check the media bucket and its key; then retry the jobs',
  packager_error: 'read the log tail; report it when a second attempt fails in the same way',
  cancelled: 'nothing',
  internal: 'look for the stack in the log of the runner pod; a message "cannot work" names the missing tool',
};

/** '' where nothing is known or needed. @param {string} code */
export function adviceFor(code) {
  const text = jobAdvice[code] ?? '';
  return ['–', 'nothing', ''].includes(text) ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}
