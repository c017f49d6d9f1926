import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;

/** Sequences of batches and markers for ProducerStateManager, called as the log of a leader does. */
public final class ProducerStates {
    private static final int EXPIRY_MS = 86_400_000;
    private static final int CHECK_MS = 600_000;
    private static final long START_MS = 1_500_000_000_000L;
    private static final Class<?> MANAGER = Reflection.type(
        "org.apache.kafka.storage.internals.log.ProducerStateManager", "kafka.log.ProducerStateManager");
    private static final Class<?> RECORDS = Reflection.type(
        "org.apache.kafka.common.record.MemoryRecords", "org.apache.kafka.common.record.internal.MemoryRecords");

    private final Object manager = manager();
    private long end;
    private long highWatermark;
    private long nowMs = START_MS;

    private ProducerStates() throws Exception {
    }

    public static void main(String[] arguments) throws Exception {
        Cases.answer(fields -> new ProducerStates().run(fields));
    }

    private Object run(Map<String, String> fields) throws Exception {
        List<String> results = new ArrayList<>();
        for (String call : fields.get("calls").split(",")) {
            results.add(result(call.split(":")) + "/" + lastStable());
        }
        return String.join(" ", results);
    }

    private String result(String[] call) throws Exception {
        long[] numbers = new long[call.length];
        for (int i = 1; i < call.length; i++) {
            numbers[i] = Long.parseLong(call[i]);
        }
        switch (call[0]) {
            case "plain":
            case "transactional":
                ByteBuffer data = batch(numbers[1], numbers[2], (int) numbers[3], (int) numbers[4], call[0].equals("plain") ? 0 : 16);
                return append(numbers[1], data, true, 0, (int) numbers[4]);
            case "abort":
            case "commit":
            case "abort2":
            case "commit2":
                ByteBuffer control = marker(numbers[1], numbers[2], (int) numbers[3], call[0].startsWith("abort") ? 0 : 1);
                return append(numbers[1], control, false, call[0].endsWith("2") ? 2 : 0, 1);
            case "replicated":
                highWatermark = end;
                Reflection.call(manager, "onHighWatermarkUpdated", highWatermark);
                return "ok";
            default:
                long checkedMs = nowMs - nowMs % CHECK_MS;
                nowMs = START_MS + numbers[1] * 60_000;
                if (nowMs - nowMs % CHECK_MS > checkedMs) {
                    Reflection.call(manager, "removeExpiredProducers", nowMs - nowMs % CHECK_MS);
                }
                return "ok";
        }
    }

    private String append(long producerId, ByteBuffer bytes, boolean isClient, int version, int count) throws Exception {
        Object records = Reflection.method(RECORDS, "readableRecords", 1).invoke(null, bytes);
        Object batch = Cases.elements(Reflection.call(records, "batches")).get(0);
        Object entry = value(Reflection.call(manager, "lastEntry", producerId));
        if (isClient && entry != null) {
            Long duplicate = duplicateOf(entry, batch);
            if (duplicate != null) {
                return "duplicate@" + duplicate;
            }
        }
        Object info = Reflection.call(manager, "prepareUpdate", producerId, origin(isClient));
        Object completed;
        try {
            completed = value(appended(info, batch, version));
        } catch (RuntimeException error) {
            return Errors.forException(error).name();
        }
        long base = end;
        end += count;
        Reflection.call(manager, "update", info);
        if (completed != null) {
            Reflection.call(manager, "completeTxn", completed);
        }
        Reflection.call(manager, "updateMapEndOffset", end);
        return "ok@" + base;
    }

    private static Object appended(Object info, Object batch, int version) throws Exception {
        if (Reflection.method(info.getClass(), "append", 3) != null) {
            return Reflection.call(info, "append", batch, Optional.empty(), (short) version);
        }
        if (Reflection.method(info.getClass(), "append", 2) == null) {
            return Reflection.call(info, "append", batch);
        }
        boolean isScala = MANAGER.getName().startsWith("kafka.");
        return Reflection.call(info, "append", batch, isScala ? Reflection.scalaObject("scala.None") : Optional.empty());
    }

    private static Long duplicateOf(Object entry, Object batch) throws Exception {
        if (Reflection.method(entry.getClass(), "findDuplicateBatch", 1) == null) {
            boolean isDuplicate = (Boolean) Reflection.call(entry, "isDuplicate", batch);
            return isDuplicate ? (Long) Reflection.call(entry, "firstOffset") : null;
        }
        Object found = value(Reflection.call(entry, "findDuplicateBatch", batch));
        return found == null ? null : (Long) Reflection.call(found, "firstOffset");
    }

    private static Object origin(boolean isClient) throws Exception {
        Class<?> type = Reflection.method(MANAGER, "prepareUpdate", 2).getParameterTypes()[1];
        if (type == boolean.class) {
            return isClient;
        }
        if (type.isEnum()) {
            return Reflection.get(type, isClient ? "CLIENT" : "COORDINATOR");
        }
        return Reflection.scalaObject("kafka.log.AppendOrigin$" + (isClient ? "Client" : "Coordinator"));
    }

    private long lastStable() throws Exception {
        Object found = value(Reflection.call(manager, "firstUnstableOffset"));
        return found == null ? highWatermark : Math.min(highWatermark, (Long) Reflection.get(found, "messageOffset"));
    }

    /** Content of an option of Java or Scala, or the value itself; null if empty. */
    private static Object value(Object option) throws Exception {
        if (option instanceof Optional) {
            return ((Optional<?>) option).orElse(null);
        }
        boolean isScala = option != null && option.getClass().getName().matches("scala\\.(Some|None\\$)");
        return !isScala ? option : (Boolean) Reflection.call(option, "isEmpty") ? null : Reflection.call(option, "get");
    }

    private ByteBuffer batch(long producerId, long epoch, int sequence, int count, int attributes) {
        return header(producerId, epoch, sequence, count, attributes, 0).flip();
    }

    private ByteBuffer marker(long producerId, long epoch, int coordinatorEpoch, int type) {
        ByteBuffer bytes = header(producerId, epoch, -1, 1, 16 + 32, 17);
        bytes.put((byte) (16 * 2)).put((byte) 0).put((byte) 0).put((byte) 0);
        bytes.put((byte) (4 * 2)).putShort((short) 0).putShort((short) type);
        bytes.put((byte) (6 * 2)).putShort((short) 0).putInt(coordinatorEpoch).put((byte) 0);
        return bytes.flip();
    }

    /** Header of a batch of message format 2, followed by so many bytes of records. */
    private ByteBuffer header(long producerId, long epoch, int sequence, int count, int attributes, int records) {
        ByteBuffer bytes = ByteBuffer.allocate(61 + records);
        bytes.putLong(end).putInt(49 + records).putInt(0).put((byte) 2).putInt(0).putShort((short) attributes);
        bytes.putInt(count - 1).putLong(nowMs).putLong(nowMs).putLong(producerId).putShort((short) epoch).putInt(sequence);
        return bytes.putInt(count);
    }

    private static Object manager() throws Exception {
        File directory = Files.createTempDirectory("producers").toFile();
        directory.deleteOnExit();
        Class<?>[] types = MANAGER.getConstructors()[0].getParameterTypes();
        Object[] given = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            given[i] = types[i] == TopicPartition.class ? new TopicPartition("t", 0)
                : types[i] == File.class ? directory
                : types[i] == int.class ? (Object) EXPIRY_MS
                : types[i] == Time.class ? Time.SYSTEM
                : settings(types[i]);
        }
        return MANAGER.getConstructors()[0].newInstance(given);
    }

    private static Object settings(Class<?> type) throws Exception {
        boolean isOne = type.getConstructors()[0].getParameterCount() == 1;
        return isOne ? Reflection.make(type, EXPIRY_MS) : Reflection.make(type, EXPIRY_MS, false);
    }
}
