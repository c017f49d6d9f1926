import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.Time;

/**
 * Errors of a client's batch, which is given as bytes: those of ProduceRequest, then of the batch's checksum, and then
 * of LogValidator.
 */
public final class BatchValidation {
    private static final String[] CODECS = {"NONE", "GZIP", "SNAPPY", "LZ4", "ZSTD"};
    private static final Class<?> VALIDATOR =
        Reflection.type("org.apache.kafka.storage.internals.log.LogValidator", "kafka.log.LogValidator$");
    private static final Class<?> RECORDS = Reflection.type(
        "org.apache.kafka.common.record.MemoryRecords", "org.apache.kafka.common.record.internal.MemoryRecords");

    public static void main(String[] arguments) throws Exception {
        Cases.answer(BatchValidation::error);
    }

    private static Object error(Map<String, String> fields) throws Exception {
        try {
            validate(fields);
        } catch (InvocationTargetException error) {
            return name(error.getCause());
        } catch (RuntimeException error) {
            return name(error);
        }
        return "NONE";
    }

    private static void validate(Map<String, String> fields) throws Exception {
        Object records = records(fields.get("bytes"));
        Method check = Reflection.method(ProduceRequest.class, "validateRecords", 2);
        if (!fields.get("request").isEmpty() && check != null && Modifier.isStatic(check.getModifiers())) {
            check.invoke(null, Short.valueOf(fields.get("request")), records);
        }
        Object first = null;
        for (Object batch : (Iterable<?>) Reflection.call(records, "batches")) {
            Reflection.call(batch, "ensureValid");
            first = first == null ? batch : first;
        }
        if (VALIDATOR.getName().startsWith("kafka")) {
            Object validator = Reflection.scalaObject(VALIDATOR.getName());
            Method method = Arrays.stream(VALIDATOR.getDeclaredMethods())
                .filter(each -> each.getName().equals("validateMessagesAndAssignOffsets")).findFirst().get();
            method.setAccessible(true);
            method.invoke(validator, arguments(method.getParameterTypes(), fields, first, records));
            return;
        }
        Constructor<?> constructor = VALIDATOR.getConstructors()[0];
        Object validator = constructor.newInstance(arguments(constructor.getParameterTypes(), fields, first, records));
        Method method = Reflection.method(VALIDATOR, "validateMessagesAndAssignOffsets", 3);
        Class<?>[] needed = method.getParameterTypes();
        Object metrics = Proxy.newProxyInstance(
            needed[1].getClassLoader(), new Class<?>[] {needed[1]}, (proxy, called, given) -> null);
        Object last = needed[2].getSimpleName().equals("RequestLocal")
            ? Reflection.call(Reflection.scalaObject(needed[2].getName()), "NoCaching")
            : Reflection.get(needed[2], "NO_CACHING");
        method.invoke(validator, Reflection.make(needed[0], 0L), metrics, last);
    }

    /** The arguments of the validator's constructor or method, which have another order and number in each release. */
    private static Object[] arguments(
            Class<?>[] types, Map<String, String> fields, Object first, Object records) throws Exception {
        Object[] given = new Object[types.length];
        boolean hasNow = VALIDATOR.getName().startsWith("kafka");
        int longs = hasNow ? -1 : 0;
        int codecs = 0;
        int booleans = 0;
        for (int i = 0; i < types.length; i++) {
            switch (types[i].getSimpleName()) {
                case "MemoryRecords": given[i] = records; break;
                case "TopicPartition": given[i] = new TopicPartition("t", 0); break;
                case "LongRef": given[i] = Reflection.make(types[i], 0L); break;
                case "Time": given[i] = clock(Long.parseLong(fields.get("clock"))); break;
                case "CompressionType": case "Compression": case "CompressionCodec":
                    given[i] = codec(types[i], codecs++ == 0 ? code(first) : Integer.parseInt(fields.get("codec"))); break;
                case "boolean": given[i] = booleans++ == 0 ? fields.get("compact").equals("yes") : true; break;
                case "byte": given[i] = Byte.valueOf(fields.get("format")); break;
                case "TimestampType": given[i] = Reflection.get(types[i], fields.get("type")); break;
                case "long": given[i] = longs < 0 ? Long.valueOf(fields.get("clock"))
                    : Long.valueOf(fields.get(longs == 0 ? "before" : "after")); longs++; break;
                case "int": given[i] = 0; break;
                case "AppendOrigin": given[i] = types[i].isEnum() ? Reflection.get(types[i], "CLIENT")
                    : Reflection.scalaObject(types[i].getName() + "$Client"); break;
                case "ApiVersion": given[i] = Reflection.call(
                    Reflection.scalaObject("kafka.api.ApiVersion"), "latestVersion"); break;
                case "MetadataVersion": given[i] = metadataVersion(types[i]); break;
                case "BrokerTopicStats": given[i] = Reflection.make(types[i]); break;
                case "RequestLocal": given[i] = Reflection.call(
                    Reflection.scalaObject(types[i].getName()), "NoCaching"); break;
                default: throw new IllegalStateException("no argument of type " + types[i]);
            }
        }
        return given;
    }

    private static Object metadataVersion(Class<?> type) throws Exception {
        return Reflection.call(type, Reflection.method(type, "latestProduction", 0) == null ? "latest" : "latestProduction");
    }

    private static int code(Object batch) throws Exception {
        return ((Number) Reflection.get(Reflection.call(batch, "compressionType"), "id")).intValue();
    }

    private static Object codec(Class<?> type, int code) throws Exception {
        if (type.getSimpleName().equals("CompressionType")) {
            return Reflection.get(type, CODECS[code]);
        }
        if (type.getSimpleName().equals("Compression")) {
            return code == 0 ? Reflection.get(type, "NONE")
                : Reflection.call(Reflection.call(type, CODECS[code].toLowerCase()), "build");
        }
        String[] names = {"No", "GZIP", "Snappy", "LZ4", "ZStd"};
        return Reflection.scalaObject("kafka.message." + names[code] + "CompressionCodec");
    }

    private static String name(Throwable error) throws Exception {
        Object cause = Reflection.method(error.getClass(), "invalidException", 0) == null ? error
            : Reflection.call(error, "invalidException");
        Errors found = Errors.forException((Throwable) cause);
        return found.code() == -1 ? "UNKNOWN_SERVER_ERROR" : found.name();
    }

    private static Time clock(long ms) {
        return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, given) -> method.getName().equals("milliseconds") ? (Object) ms : ms * 1_000_000);
    }

    private static Object records(String hex) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(hex.length() / 2);
        for (int i = 0; i < hex.length(); i += 2) {
            bytes.put((byte) Integer.parseInt(hex.substring(i, i + 2), 16));
        }
        bytes.flip();
        return Reflection.method(RECORDS, "readableRecords", 1).invoke(null, bytes);
    }
}
