import java.io.ByteArrayOutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.LogValidator;

/** Errors of LogValidator for batches of a client: keys in compacted topics, and timestamps. */
public final class BatchValidation {
    public static void main(String[] arguments) throws Exception {
        Cases.answer(BatchValidation::error);
    }

    private static Object error(Map<String, String> fields) throws Exception {
        Constructor<?> constructor = LogValidator.class.getConstructors()[0];
        Class<?>[] types = constructor.getParameterTypes();
        Object[] given = new Object[types.length];
        int longs = 0;
        for (int i = 0; i < types.length; i++) {
            String name = types[i].getSimpleName();
            given[i] = name.equals("MemoryRecords") ? records(types[i], fields.get("records"))
                : name.equals("TopicPartition") ? new TopicPartition("t", 0)
                : name.equals("Time") ? clock(Long.parseLong(fields.get("clock")))
                : name.equals("CompressionType") ? Reflection.get(types[i], "NONE")
                : name.equals("Compression") ? Reflection.get(types[i], "NONE")
                : name.equals("boolean") ? fields.get("compact").equals("yes")
                : name.equals("byte") ? (byte) 2
                : name.equals("TimestampType") ? Reflection.get(types[i], fields.get("type"))
                : name.equals("long") ? (Object) Long.parseLong(fields.get(longs++ == 0 ? "before" : "after"))
                : name.equals("int") ? 0
                : name.equals("AppendOrigin") ? Reflection.get(types[i], "CLIENT")
                : Reflection.call(types[i], "latestProduction");
        }
        Object validator = constructor.newInstance(given);
        Class<?> recorder = LogValidator.MetricsRecorder.class;
        Object metrics = Proxy.newProxyInstance(recorder.getClassLoader(), new Class<?>[] {recorder}, (p, m, a) -> null);
        try {
            Class<?>[] needed = Reflection.method(LogValidator.class, "validateMessagesAndAssignOffsets", 3).getParameterTypes();
            Reflection.call(validator, "validateMessagesAndAssignOffsets", Reflection.make(needed[0], 0L), metrics,
                Reflection.get(needed[2], "NO_CACHING"));
        } catch (RuntimeException error) {
            Object cause = Reflection.method(error.getClass(), "invalidException", 0) == null ? error
                : Reflection.call(error, "invalidException");
            return Errors.forException((Throwable) cause).name();
        }
        return "NONE";
    }

    private static Time clock(long ms) {
        return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, arguments) -> method.getName().equals("milliseconds") ? (Object) ms : ms * 1_000_000);
    }

    /** A batch of message format 2 with records such as {@code k500}: with a key (k) or without (n), and a timestamp. */
    private static Object records(Class<?> type, String text) throws Exception {
        String[] parts = text.split("\\+");
        long first = Long.parseLong(parts[0].substring(1));
        long newest = first;
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (int i = 0; i < parts.length; i++) {
            long stamp = Long.parseLong(parts[i].substring(1));
            newest = Math.max(newest, stamp);
            byte[] record = record(parts[i].startsWith("k"), stamp - first, i);
            varint(body, record.length);
            body.write(record);
        }
        ByteBuffer bytes = ByteBuffer.allocate(61 + body.size());
        bytes.putLong(0).putInt(49 + body.size()).putInt(0).put((byte) 2).putInt(0).putShort((short) 0);
        bytes.putInt(parts.length - 1).putLong(first).putLong(newest).putLong(-1).putShort((short) -1).putInt(-1);
        bytes.putInt(parts.length).put(body.toByteArray()).flip();
        return Reflection.method(type, "readableRecords", 1).invoke(null, bytes);
    }

    private static byte[] record(boolean hasKey, long delta, int place) {
        ByteArrayOutputStream record = new ByteArrayOutputStream();
        record.write(0);
        varint(record, delta);
        varint(record, place);
        varint(record, hasKey ? 1 : -1);
        if (hasKey) {
            record.write('k');
        }
        varint(record, 1);
        record.write('v');
        varint(record, 0);
        return record.toByteArray();
    }

    private static void varint(ByteArrayOutputStream out, long value) {
        long left = (value << 1) ^ (value >> 63);
        while ((left & ~0x7FL) != 0) {
            out.write((int) (left & 0x7F | 0x80));
            left >>>= 7;
        }
        out.write((int) left);
    }
}
